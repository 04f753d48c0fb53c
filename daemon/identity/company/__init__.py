"""What a company says about its people, its business days and who decides as whom."""
