/** What every condition that is not True ends with: what to do, or who is waited for. */
export const remedy =
  /: (add|allow|ask|change|correct|delete|give|install|leave|make|name|nothing to do|remove|see|set|tell|wait|widen)[ ,;].*\w\.?$|: correct it\.$/

/** Of an event's note; a longer one loses its end. */
export const longestNoteBytes = 1024
