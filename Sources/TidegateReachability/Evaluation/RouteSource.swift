internal import TidegateNetwork

/// The kernel's tables and route lookups, which verdicts are computed from.
protocol RouteSource: AnyObject {
    /// Links and addresses as last read.
    var tables: KernelTables { get }

    /// Looks up routes, and calls `body` with the index and the answer of each question, in order.
    ///
    /// False if the kernel cannot be queried; answers may be missing then.
    func lookUp(_ questions: ArraySlice<RouteQuestion>, _ body: (Int, RouteLookup) -> Void) -> Bool
}

extension NetlinkClient: RouteSource {}
