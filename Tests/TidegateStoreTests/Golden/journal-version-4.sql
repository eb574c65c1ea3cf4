PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1');
INSERT INTO grdb_migrations VALUES('2');
INSERT INTO grdb_migrations VALUES('3');
INSERT INTO grdb_migrations VALUES('4');
CREATE TABLE task (
    id TEXT NOT NULL PRIMARY KEY,
    accepted INTEGER NOT NULL,
    key TEXT,
    description TEXT NOT NULL,
    suspensions INTEGER NOT NULL,
    predecessor TEXT,
    in_doubt INTEGER NOT NULL DEFAULT 0,
    hold TEXT,
    placing TEXT,
    life TEXT NOT NULL,
    outcome TEXT,
    failure TEXT,
    explanation TEXT,
    status INTEGER,
    bytes INTEGER,
    attempts INTEGER,
    ended INTEGER
, party TEXT, name TEXT, kind TEXT, method TEXT, url TEXT, file TEXT) STRICT;
INSERT INTO task VALUES('01a21ee7-096f-7067-8dbe-a9f930cbf708',1795814787439354,'fetched','{"usesHTTP2":false,"acceptsCompression":false,"body":{"none":{}},"url":"http:\/\/127.0.0.1:18099\/c.yml","headers":[],"connectTimeout":[0,10000000000000000000],"isMarkedIdempotent":false,"method":"GET","priority":0,"idleTimeout":[3,4659767778871345152],"destination":{"file":{"_0":"\/tmp\/old\/c.yml"}},"maxRedirects":10,"key":"fetched"}',0,NULL,0,'{"total":1256,"offset":1256,"lastModified":"Fri, 27 Nov 2026 21:15:46 GMT"}','{"size":1256,"inode":16277559,"modifiedSeconds":1795814790,"modifiedNanoseconds":395994029}','{"boot":"f545ede9-940c-426c-b199-2e2a4c74cc0b","lived":[0,2959581328000000000],"wall":1795814790399158,"effort":{"inARow":2,"waited":[0,0],"active":[0,1003446139000000000],"charged":2},"monotonic":6966873657634}','success',NULL,NULL,200,1256,3,1795814790645927,NULL,NULL,'download','GET','http://127.0.0.1:18099/c.yml','/tmp/old/c.yml');
INSERT INTO task VALUES('01a21ee7-186b-7a34-8854-09f7ff698dc0',1795814791275793,'missing','{"body":{"none":{}},"priority":0,"usesHTTP2":false,"url":"http:\/\/127.0.0.1:18099\/none","headers":[],"destination":{"discard":{}},"acceptsCompression":false,"method":"GET","isMarkedIdempotent":false,"key":"missing","idleTimeout":[3,4659767778871345152],"connectTimeout":[0,10000000000000000000],"maxRedirects":10}',0,NULL,0,NULL,NULL,'{"boot":"f545ede9-940c-426c-b199-2e2a4c74cc0b","lived":[0,0],"wall":1795814791275793,"monotonic":6967750300451}','failure','httpStatus','http://127.0.0.1:18099/none: the server answered 404',404,0,1,1795814791595140,'mine',NULL,'data','GET','http://127.0.0.1:18099/none',NULL);
INSERT INTO task VALUES('01a21ee7-33e3-7c04-8130-fb1bd2edad73',1795814798307063,'waiting','{"method":"POST","maxRedirects":10,"isMarkedIdempotent":false,"body":{"data":{"_0":"YT0x"}},"connectTimeout":[0,10000000000000000000],"acceptsCompression":false,"idleTimeout":[3,4659767778871345152],"destination":{"discard":{}},"key":"waiting","priority":5,"headers":[{"name":"X-Note","value":"kept"},{"name":"Content-Type","value":"application\/x-www-form-urlencoded"}],"url":"http:\/\/127.0.0.1:18099\/post","usesHTTP2":false}',1,NULL,0,NULL,NULL,'{"lived":[0,0],"wall":1795814798307063,"monotonic":6974781572578,"boot":"f545ede9-940c-426c-b199-2e2a4c74cc0b"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'upload','POST','http://127.0.0.1:18099/post',NULL);
INSERT INTO task VALUES('01a21ee7-43f7-7e2b-b805-a20102243d7b',1795814802423021,'waiting','{"maxRedirects":10,"headers":[],"priority":0,"method":"GET","body":{"none":{}},"key":"waiting","idleTimeout":[3,4659767778871345152],"isMarkedIdempotent":false,"usesHTTP2":false,"url":"http:\/\/127.0.0.1:18099\/next","destination":{"discard":{}},"acceptsCompression":false,"connectTimeout":[0,10000000000000000000]}',1,'01a21ee7-33e3-7c04-8130-fb1bd2edad73',0,NULL,NULL,'{"lived":[0,0],"wall":1795814802423021,"monotonic":6978897527042,"boot":"f545ede9-940c-426c-b199-2e2a4c74cc0b"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'data','GET','http://127.0.0.1:18099/next',NULL);
CREATE TABLE path_event (time INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
INSERT INTO path_event VALUES(1795814775000000,'{"requests":{"_0":{"failures":[{"firstMicroseconds":1795814788254835,"cause":"127.0.0.1 refused the connection","lastMicroseconds":1795814788944301,"subject":"127.0.0.1","isPathLoss":false,"count":2,"partyName":"mine"}],"number":119720985,"requests":2}}}');
INSERT INTO path_event VALUES(1795814790885790,'{"results":{"_0":[{"name":"fetched","entry":{"microseconds":1795814790885790,"text":"1.2 KiB in 2 s","task":"01a21ee7-096f-7067-8dbe-a9f930cbf708","outcomeName":"success"}}]}}');
INSERT INTO path_event VALUES(1795814790000000,'{"requests":{"_0":{"requests":2,"number":119720986,"failures":[{"cause":"the server answered 404","isPathLoss":false,"lastMicroseconds":1795814791646050,"subject":"127.0.0.1","firstMicroseconds":1795814791646050,"partyName":"mine","count":1}]}}}');
INSERT INTO path_event VALUES(1795814810211116,'{"results":{"_0":[{"name":"missing","entry":{"task":"01a21ee7-186b-7a34-8854-09f7ff698dc0","microseconds":1795814791673769,"partyName":"mine","text":"http:\/\/127.0.0.1:18099\/none: the server answered 404","outcomeName":"failure"}}]}}');
INSERT INTO path_event VALUES(1795814810211116,'{"line":{"_0":{"subject":"","microseconds":1795814810211116,"tone":"plain","effect":"stopping","text":"stopping","rank":6}}}');
INSERT INTO path_event VALUES(1795814810211116,'{"level":{"at":1795814810211116}}');
INSERT INTO path_event VALUES(1795814810433557,'{"line":{"_0":{"subject":"","microseconds":1795814810433557,"tone":"plain","effect":"no more requests are made","text":"no more requests are made","rank":6}}}');
CREATE TABLE unreadable_task(
  id TEXT,
  accepted INT,
  "key" TEXT,
  description TEXT,
  suspensions INT,
  predecessor TEXT,
  in_doubt INT,
  hold TEXT,
  placing TEXT,
  life TEXT,
  outcome TEXT,
  failure TEXT,
  explanation TEXT,
  status INT,
  bytes INT,
  attempts INT,
  ended INT,
  party TEXT
, name TEXT, kind TEXT, method TEXT, url TEXT, file TEXT);
CREATE INDEX task_key ON task (key, id) WHERE key IS NOT NULL;
CREATE INDEX task_open ON task (id) WHERE outcome IS NULL;
CREATE INDEX task_ended ON task (ended) WHERE ended IS NOT NULL;
CREATE INDEX path_event_time ON path_event (time);
COMMIT;
