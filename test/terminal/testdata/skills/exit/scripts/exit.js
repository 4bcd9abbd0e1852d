console.log("to standard output");
console.error("to standard error");
process.exitCode = Number(process.argv[2]);
