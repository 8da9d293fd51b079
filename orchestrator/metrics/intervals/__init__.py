"""95 % intervals of means, percentiles, shares and rates of values that depend on each other in time.

Takes arrays in order of arrival and gives intervals; knows nothing of requests and never invents a value.
"""
