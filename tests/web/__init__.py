"""The contract, sentence by sentence, against the whole service over HTTP."""
