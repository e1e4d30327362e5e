"""What is asked of jaxprs, with circuits or without, and made of them: dependence, reversal."""
