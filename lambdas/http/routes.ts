import { getJob } from "./get-job.ts";
import { postWelcomeMail } from "./post-welcome-mail.ts";
import { putEvent } from "./put-event.ts";
import type { RouteKey } from "./route-keys.ts";
import type { Route } from "./router.ts";

export const routes: Readonly<Record<RouteKey, Route>> = {
  "PUT /calendars/{tenant}/events/{id}": putEvent,
  "GET /tenants/{tenant}/jobs/{id}": getJob,
  "POST /tenants/{tenant}/welcome-mails": postWelcomeMail,
};
