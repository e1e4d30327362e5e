"""What a program is and costs, shown to its user: reports, estimates, progress, explicit jaxprs."""
