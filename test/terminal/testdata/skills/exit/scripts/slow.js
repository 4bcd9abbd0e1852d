console.error("the first words");
setTimeout(() => console.log("the last words"), Number(process.argv[2] ?? 2000));
