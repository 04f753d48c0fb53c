"""The fuzzer: what strangers may send, made by Hypothesis, against the service and its parsers."""
