"""The dataflow of one trial: check, deploy, warm up, walk the loads, stop, verify."""
