package auditfile

// noFollow has no counterpart here.
const noFollow = 0
