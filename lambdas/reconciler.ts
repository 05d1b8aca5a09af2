import { createReconciler } from "antrean";

export const handler = createReconciler();
