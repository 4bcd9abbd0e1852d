console.log('checked')
