// swift-tools-version: 6.2
import PackageDescription

// An app as others write it: it sees the products and nothing else.
let package = Package(
    name: "client",
    dependencies: [
        .package(name: "tidegate", path: "../.."),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
    ],
    targets: [
        .executableTarget(
            name: "Client",
            dependencies: [
                .product(name: "Tidegate", package: "tidegate"),
                .product(name: "TidegateHTTP", package: "tidegate"),
                .product(name: "TidegateServer", package: "tidegate"),
                .product(name: "TidegateStore", package: "tidegate"),
                .product(name: "TidegateTesting", package: "tidegate"),
                .product(name: "TidegateTracing", package: "tidegate"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
