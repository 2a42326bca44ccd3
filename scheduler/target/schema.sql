-- The tables by which a service does the work of each run of rota once. Execute this file once, as the owner of the service's tables.

CREATE TABLE IF NOT EXISTS rota_fences (
    scope text PRIMARY KEY,
    token bigint NOT NULL -- the highest that was met
);

CREATE TABLE IF NOT EXISTS rota_answers (
    key     text PRIMARY KEY,
    status  integer NOT NULL,
    header  bytea NOT NULL,
    body    bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS rota_answers_created ON rota_answers (created);

-- rota_enter begins the work of an attempt. Call it first in the transaction that does the work.
--
-- stale:    a newer attempt was here; roll back and refuse the request.
-- answered: the work was done before; send the answer in status, header and body, and do nothing else.
-- Otherwise do the work, insert the answer into rota_answers, and commit.
--
-- It locks the scope until the transaction ends: attempts of one scope wait for each other.
CREATE OR REPLACE FUNCTION rota_enter(
    in_scope text, in_token bigint, in_key text,
    OUT stale boolean, OUT answered boolean, OUT status integer, OUT header bytea, OUT body bytea
) LANGUAGE plpgsql AS $$
DECLARE
    highest bigint;
BEGIN
    INSERT INTO rota_fences AS f (scope, token) VALUES (in_scope, in_token)
        ON CONFLICT (scope) DO UPDATE SET token = greatest(f.token, excluded.token)
        RETURNING f.token INTO highest;
    stale := highest > in_token;
    answered := false;
    IF NOT stale THEN
        SELECT a.status, a.header, a.body INTO status, header, body FROM rota_answers AS a WHERE a.key = in_key;
        answered := FOUND;
    END IF;
END;
$$;
