-- A list of the links with one status read every link of the holder until it had found enough of them. A link changes its status
-- once or never, so the index is written little; it holds the end of each link, because a link past its end is listed as expired.
create index payment_links_by_status on payment_links (holder_id, status, id desc) include (expires_at);
