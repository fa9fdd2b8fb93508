-- Ninety days before now are ninety times 24 hours only in a zone without summer time. In another, the cut-off of the service
-- was refused as too young for months, and nothing after it was maintained. The other functions of partitions say this already.
alter function trim_default_partition(text, timestamptz) set timezone = 'UTC';
