"""What reports count: how it is kept from the events, and the rows that answer questions."""
