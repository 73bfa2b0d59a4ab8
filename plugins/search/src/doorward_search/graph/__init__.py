"""Which functions give what others need: `GET /search/person` the `person_id` of `GET /person/{person_id}/movies`."""
