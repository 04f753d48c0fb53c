"""The running service under all checks of schemathesis, which reads the contract and tries to break
it.
"""
