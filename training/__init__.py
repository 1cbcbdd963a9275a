"""From source checkouts to the weights of the shipped reranker. Nothing here is imported by the product."""
