"""An example of a plug-in: folders of checks, roles, failure modes, launchers and faults."""
