import { defineJob } from "antrean";
import * as z from "zod";

/** Until version 2 every welcome mail was in Indonesian. */
const DEFAULT_LOCALE = "id-ID";

const SendWelcomeV1 = z.object({ userId: z.string().min(1).max(128) });

const SendWelcomeV2 = SendWelcomeV1.extend({
  /** BCP 47, such as `id-ID` or `en`. */
  locale: z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, "must be a language tag such as id-ID"),
});

/** Welcomes a new user by mail, once. The locale is part of the mail and not of the effect that is named. */
export const sendWelcome = defineJob("email.send_welcome", {
  version: 2,
  payload: SendWelcomeV2,
  upcast: { 1: { payload: SendWelcomeV1, to: (v1) => ({ ...v1, locale: DEFAULT_LOCALE }) } },
  key: ({ userId }) => `welcome:${userId}`,
});
