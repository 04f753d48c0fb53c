"""The same loop on other engines, in processes of their own and on environments of their own."""
