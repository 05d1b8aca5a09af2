import { createConsumer } from "antrean";
import { handlers } from "./jobs/handlers.ts";
import { createCalendarProvider } from "./providers/calendar.ts";
import { createMailProvider } from "./providers/mail.ts";
import { eventTableName, providerSettings } from "./settings.ts";
import { createDynamoEvents } from "./store/dynamo-events.ts";

export const handler = createConsumer(
  {
    context: () => ({
      events: createDynamoEvents(eventTableName()),
      calendar: createCalendarProvider(providerSettings()),
      mail: createMailProvider(providerSettings()),
    }),
  },
  handlers,
);
