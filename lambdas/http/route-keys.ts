/**
 * What the API can do, by API Gateway's route keys. `cdk/` deploys a route of each; a file of its own, so that
 * a synth loads no handler code.
 */
export const ROUTE_KEYS = [
  "PUT /calendars/{tenant}/events/{id}",
  "GET /tenants/{tenant}/jobs/{id}",
  "POST /tenants/{tenant}/welcome-mails",
] as const;

export type RouteKey = (typeof ROUTE_KEYS)[number];
