"""Processes as BPMN 2.0: written with a diagram, and read where they map."""
