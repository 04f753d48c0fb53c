"""Panels: judges that are heard where the autopilot would clear a medium step.

`hearing` is how a panel is asked and decides, `answers` how a tool's answer is read.
"""
