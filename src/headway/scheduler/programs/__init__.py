"""Programs that go on: steps that are done once, and jobs that wait without a slot."""
