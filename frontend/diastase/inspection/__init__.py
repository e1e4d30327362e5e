"""What a program is and costs, as its user sees it: reports, costs, progress, jaxprs, pictures."""
