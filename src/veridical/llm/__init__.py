"""Language models behind an API: client, endpoints, prompts, sampling."""
