PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1');
INSERT INTO grdb_migrations VALUES('2');
INSERT INTO grdb_migrations VALUES('3');
INSERT INTO grdb_migrations VALUES('4');
INSERT INTO grdb_migrations VALUES('5');
INSERT INTO grdb_migrations VALUES('6');
INSERT INTO grdb_migrations VALUES('7');
INSERT INTO grdb_migrations VALUES('8');
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
CREATE TABLE path_event (time INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
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
CREATE TABLE probe (identity TEXT PRIMARY KEY, time INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE progress (commits INTEGER NOT NULL, tasks INTEGER NOT NULL) STRICT;
INSERT INTO progress VALUES(1,0);
CREATE TABLE incident (
    id TEXT NOT NULL PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER, text TEXT NOT NULL,
    evidence TEXT NOT NULL
) STRICT;
INSERT INTO incident VALUES('01a0ba60-0000-7000-8000-000000000001',1790000000000000,1790000100000000,'["01a0ba60-0000-7000-8000-000000000001","intermittent","network",null,"upstream","the gateway 10.0.0.1 answers, and nothing beyond it does","Call them.","probable",1790000100000000,"recovered","01a0ba60-0000-7000-8000-000000000000",["api","shop"],["web \"1\""],41,12,6,"eth0","10.0.0.1","10.0.0.2","line fault, é","T-4711",1790000060000000,true,[1790000000000000,1790000010000000,1790000040000000,1790000050000007,1790000090000000,1790000100000000]]','{"start":{"families":{"ipv4":{"rungs":{"gateway":"ok","internet":"failed"}}}},"worst":{"conclusion":"broken","ms":1.5},"recovery":{"conclusion":"works"}}');
INSERT INTO incident VALUES('01a0ba60-0000-7000-8000-000000000002',1790001000000000,NULL,'["01a0ba60-0000-7000-8000-000000000002","degraded","target","api","theirs","late","","proven",null,null,null,[],[],0,0,1,null,null,null,null,null,null,false,[1790001000000000,null]]','{"start":null,"worst":null,"recovery":null}');
CREATE TABLE coverage (
    id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
INSERT INTO coverage VALUES('s','watched',1789999000000000,1790001060000000,'');
INSERT INTO coverage VALUES('p','planned',1790001000000000,1790001009000000,'router');
CREATE TABLE quality (identity TEXT PRIMARY KEY, time INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX task_key ON task (key, id) WHERE key IS NOT NULL;
CREATE INDEX task_open ON task (id) WHERE outcome IS NULL;
CREATE INDEX task_ended ON task (ended) WHERE ended IS NOT NULL;
CREATE INDEX path_event_time ON path_event (time);
CREATE INDEX incident_started ON incident (started, id);
CREATE INDEX incident_ended ON incident (ended);
CREATE INDEX coverage_ended ON coverage (ended);
COMMIT;
