"""From words and code to a proposed envelope: our own reading always, a language model's on top where one is set up."""
