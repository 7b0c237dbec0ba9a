"""Pure decisions: rules, sizing, choice and the sentence that explains it."""
