console.log("filled")
