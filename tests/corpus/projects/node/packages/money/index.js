export const format = (cents) => `${(cents / 100).toFixed(2)} EUR`;
