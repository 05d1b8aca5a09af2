import * as z from "zod";
import type { ProviderSettings } from "../settings.ts";
import { type CallContext, call } from "./call.ts";

export interface WelcomeMail {
  readonly tenantId: string;
  readonly userId: string;
  readonly locale: string;
}

export interface MailProvider {
  /** Answers the provider's id of the mail. */
  sendWelcome(mail: WelcomeMail, context: CallContext): Promise<string>;
}

const Answer = z.object({ id: z.string() });

export function createMailProvider({ mailUrl, timeoutMs }: ProviderSettings): MailProvider {
  return {
    sendWelcome: async (mail, context) => {
      const body = { template: "welcome", ...mail };
      const answer = await call(`${mailUrl}/mails`, { ...context, method: "POST", body, timeoutMs });
      return Answer.parse(answer).id;
    },
  };
}
