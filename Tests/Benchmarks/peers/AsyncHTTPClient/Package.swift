// swift-tools-version: 6.2
import PackageDescription

// A peer that the benchmarks build when it is asked for; the product does not depend on it.
let package = Package(
    name: "async-gets",
    dependencies: [.package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0")],
    targets: [
        .executableTarget(
            name: "AsyncGets", dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")])
    ],
    swiftLanguageModes: [.v6]
)
