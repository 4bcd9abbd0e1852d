import os, socket, ssl, sys, urllib.request
http, https = sys.argv[1:]
trust = ssl.create_default_context(cafile="ca.pem")
def ask(url, **more):
    try:
        return urllib.request.urlopen(url, timeout=10, **more).read().decode().strip()
    except OSError as e:
        return "refused " + type(e).__name__
print(ask(f"http://listed.test:{http}/"))
print(ask(f"https://listed.test:{https}/", context=trust))
print(ask(f"http://evil.test:{http}/"))
print(ask(f"http://169.254.169.254:{http}/"))
