/**
 * The demo's only door to `process.env`: it plays a service of the deployed stack, so it takes the same
 * variables, and its SDK clients find the endpoint where every SDK client looks.
 */
export function takeEnvironment(variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
}
