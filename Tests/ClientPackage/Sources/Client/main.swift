import Tidegate
print(MonitorConfiguration())
