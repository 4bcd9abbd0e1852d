fetch("https://api.weather.example").catch(e=>{console.error(e.message);process.exit(3)})
