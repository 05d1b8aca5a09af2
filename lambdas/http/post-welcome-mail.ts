import * as z from "zod";
import { sendWelcome } from "../jobs/send-welcome.ts";
import { accepted } from "./answers.ts";
import { optionsOf, read } from "./request.ts";
import type { Route } from "./router.ts";

/** What makes a good user id or locale is the contract's to say, and its issues are the answer. */
const Body = z.strictObject({ userId: z.string(), locale: z.string() });

/** POST /tenants/{tenant}/welcome-mails: no state of the app's own, so a plain enqueue does. */
export const postWelcomeMail: Route = async (request, { jobs }) => {
  const { path, body } = read(request, ["tenant"], Body);
  const { tenant: tenantId } = path;
  const { jobId, status } = await jobs.enqueue(sendWelcome, body, optionsOf(request, tenantId));
  return accepted(tenantId, jobId, status === "duplicate");
};
