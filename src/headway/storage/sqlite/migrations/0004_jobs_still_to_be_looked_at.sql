-- Jobs whose gates are still to be looked at because others ended: too many for one transaction.
CREATE TABLE unsettled (
    job_number INTEGER PRIMARY KEY
);
