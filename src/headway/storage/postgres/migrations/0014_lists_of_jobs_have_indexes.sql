-- Lists of jobs by queue, job type, template, moment and waiting status, and of runs that failed, beside millions.
CREATE INDEX jobs_by_lane ON jobs (lane_id, number);
CREATE INDEX jobs_by_moment ON jobs (created_at);
CREATE INDEX jobs_by_template ON jobs (template_id, number) WHERE template_id IS NOT NULL;
CREATE INDEX jobs_behind_a_gate ON jobs (status, number) WHERE phase = 0 AND status <> 'QUEUED';
CREATE INDEX runs_that_did_not_complete ON runs (status, run_id) WHERE status = 'FAILED' OR status = 'SKIPPED';
