// English: settings of rails. Each rail has its labels and hints in English, so nothing is translated here.

const railLabels: Readonly<Record<string, string>> = {};
const railHints: Readonly<Record<string, string>> = {};

export const rails = { railLabels, railHints };
