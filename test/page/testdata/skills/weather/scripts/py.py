print('not run: the policy has no ruby')
