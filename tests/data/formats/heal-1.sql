BEGIN TRANSACTION;
CREATE TABLE actions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  action TEXT NOT NULL, unit TEXT NOT NULL, job TEXT NOT NULL, spare TEXT NOT NULL, reason TEXT NOT NULL,
  prior_state TEXT NOT NULL, state TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL, ended_boot TEXT, ended_s REAL,
  wall REAL NOT NULL, ended_wall REAL, error TEXT NOT NULL);
INSERT INTO "actions" VALUES(1,1,'gpu-node1','gpu_lost','drain','','','','GPU 3 is lost','{"state": "idle"}','acted','boot',10.0,NULL,NULL,1.0,NULL,'');
CREATE TABLE incidents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, rule TEXT NOT NULL, boot TEXT NOT NULL, s REAL NOT NULL,
  healthy_polls INTEGER NOT NULL, notified_topics TEXT NOT NULL, open INTEGER NOT NULL, wall REAL NOT NULL);
CREATE TABLE jobs (job TEXT PRIMARY KEY, wall REAL NOT NULL);
CREATE TABLE notifications (
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, host TEXT NOT NULL, rule TEXT NOT NULL,
  topic TEXT NOT NULL, text TEXT NOT NULL, wall REAL NOT NULL, sent INTEGER NOT NULL,
  UNIQUE (incident, host, topic));
CREATE TABLE witnesses (
  host TEXT NOT NULL, rule TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL,
  boot TEXT NOT NULL, s REAL NOT NULL, PRIMARY KEY (host, rule, source, key));
CREATE INDEX actions_by_state ON actions (state, boot, s);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('actions',1);
COMMIT;
PRAGMA user_version = 1;
