-- A transaction is written once and changed once or twice. With more than half of each page free, a new version stays on its page and no
-- index is touched; with less, six in ten changes wrote a second entry into every index. Only new pages have the room: nothing
-- is rewritten.
alter table transactions set (fillfactor = 45);
