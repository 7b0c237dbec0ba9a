"""The tests of jupyter_diamond."""
