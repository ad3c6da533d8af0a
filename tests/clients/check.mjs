// What the scripts of this folder share: checks that say what they found, and their end.
let failures = 0;
export function check(what, holds, found) {
  if (holds) return;
  failures += 1;
  console.log(`FAILED: ${what}: ${JSON.stringify(found)}`);
}
export async function thrown(action) {
  try {
    await action();
  } catch (error) {
    return error;
  }
  return null;
}
export function end(what) {
  console.log(failures ? `${failures} checks failed` : `all checks of ${what} passed`);
  process.exit(failures ? 1 : 0);
}
